"""How a connection shows who it is: settings, tokens, tickets."""
