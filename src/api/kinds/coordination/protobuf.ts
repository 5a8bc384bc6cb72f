/** Protobuf field numbers, in the notation of `src/api/protobuf/field-numbers.ts`. */
export const coordination = `
Lease: metadata spec
LeaseCandidate: metadata spec
LeaseCandidateList: metadata items
LeaseCandidateSpec: leaseName pingTime? renewTime? binaryVersion emulationVersion strategy
LeaseList: metadata items
LeaseSpec: holderIdentity? leaseDurationSeconds? acquireTime? renewTime? leaseTransitions? strategy?
  preferredHolder?
`
