"""How values look: numbers, colours, charts. Imports no other part of the dashboard."""
