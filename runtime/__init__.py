"""What the project needs from the machine: a Java, jars, child processes, free ports."""
