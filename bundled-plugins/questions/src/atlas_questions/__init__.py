"""Approvals and questions that wait for a person."""
