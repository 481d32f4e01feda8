//! Scenarios: turns that call the tools of sources, gates, repetitions, and a report.
