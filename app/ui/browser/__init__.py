"""What Streamlit has no part for: small scripts that run in the viewer's browser."""
