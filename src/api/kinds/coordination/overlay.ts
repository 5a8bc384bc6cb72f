/** Facts of the group that the generated definitions lack; only the generator reads them. */
import type { Overlay } from '../overlay.ts'

export const coordinationOverlay: Overlay = {
  fieldNumbers: `
Lease: metadata spec
LeaseCandidate: metadata spec
LeaseCandidateList: metadata items
LeaseCandidateSpec: leaseName pingTime? renewTime? binaryVersion emulationVersion strategy-
LeaseList: metadata items
LeaseSpec: holderIdentity? leaseDurationSeconds? acquireTime? renewTime? leaseTransitions? strategy?
  preferredHolder?
`,
}
