"""One connection to one broker: addresses, encryption, requests out and answers in."""
