/** A policy could not be evaluated; its failurePolicy decides whether the request is rejected. */
export class PolicyError extends Error {}
