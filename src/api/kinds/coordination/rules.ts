/** https://kubernetes.io/docs/concepts/architecture/leases/ */
import type { GroupRules } from '../../kind-rules.ts'
import { leaseRules } from './lease.ts'

export const coordination: GroupRules = { Lease: leaseRules }
