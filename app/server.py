"""What ``python -m app`` serves: the dashboard, its files compressed, its modules loaded."""

from __future__ import annotations

import streamlit as st
from starlette.middleware import Middleware

from app.compression import CompressedFiles
from app.early_scripts import EarlyScripts
from app.preload import preloaded

app = st.App(
    "main.py",
    lifespan=preloaded,
    middleware=[Middleware(EarlyScripts), Middleware(CompressedFiles)],
)
