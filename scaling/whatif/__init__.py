"""What-if: a group as it is and changed, in the simulator."""
