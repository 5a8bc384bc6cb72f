/** Rules and table columns of `coordination.k8s.io`. */
import { ageColumn, ageOf, nameColumn, nameOf } from '../../columns.ts'
import type { Lease } from '../../generated/coordination/v1.ts'
import type { LeaseCandidate } from '../../generated/coordination/v1beta1.ts'
import type { GroupColumns, KindColumns } from '../../table-columns.ts'
import { textColumn } from '../make-column.ts'
import type { Unchecked } from '../validation/unchecked.ts'
import type { GroupRules } from '../../kind-rules.ts'
import { leaseRules } from './lease.ts'

export const coordinationRules: GroupRules = { Lease: leaseRules }

const leaseColumns: KindColumns<Lease> = {
  columns: [nameColumn, textColumn('Holder', 'Identity of the holder.'), ageColumn],
  cells: (lease: Unchecked<Lease>, nowMs) => [
    nameOf(lease),
    lease.spec?.holderIdentity ?? '',
    ageOf(lease, nowMs),
  ],
}

const leaseCandidateColumns: KindColumns<LeaseCandidate> = {
  columns: [
    nameColumn,
    textColumn('LeaseName', 'Lease of the candidate.'),
    textColumn('BinaryVersion', 'Binary version.'),
    textColumn('EmulationVersion', 'Emulation version.'),
    ageColumn,
  ],
  cells: (candidate: Unchecked<LeaseCandidate>, nowMs) => {
    const { leaseName = '', binaryVersion = '', emulationVersion = '' } = candidate.spec ?? {}
    return [nameOf(candidate), leaseName, binaryVersion, emulationVersion, ageOf(candidate, nowMs)]
  },
}

export const coordinationColumns: GroupColumns = {
  Lease: leaseColumns,
  LeaseCandidate: leaseCandidateColumns,
}
