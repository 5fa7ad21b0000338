"""What ``python -m app`` serves: the dashboard, its files compressed."""

from __future__ import annotations

import streamlit as st
from starlette.middleware import Middleware

from app.compression import CompressedFiles

app = st.App("main.py", middleware=[Middleware(CompressedFiles)])
