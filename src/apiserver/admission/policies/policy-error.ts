/** A policy cannot be evaluated: whether that refuses the request is for its failure policy to say. */
export class PolicyError extends Error {}
