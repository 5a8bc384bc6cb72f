/** Protobuf field numbers of the group. */
/** In the notation of `protobuf/field-numbers.ts`. */
export const coordinationFieldNumbers = `
Lease: metadata spec
LeaseCandidate: metadata spec
LeaseCandidateList: metadata items
LeaseCandidateSpec: leaseName pingTime? renewTime? binaryVersion emulationVersion strategy
LeaseList: metadata items
LeaseSpec: holderIdentity? leaseDurationSeconds? acquireTime? renewTime? leaseTransitions? strategy?
  preferredHolder?
`
