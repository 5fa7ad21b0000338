"""One module for each subject of advice: pure functions from facts to advice."""
