"""The one HTTP policy of the project, for memory systems and models alike.

``throttle`` decides when a request may leave for an endpoint; ``policy`` decides what its answer means.
"""

from runner.http.address import is_loopback, unusable
from runner.http.policy import HttpFault, Policy, Reply, call, retry_after, start_of
from runner.http.throttle import Throttle, throttle_of

__all__ = [
    "HttpFault",
    "Policy",
    "Reply",
    "Throttle",
    "call",
    "is_loopback",
    "retry_after",
    "start_of",
    "throttle_of",
    "unusable",
]
