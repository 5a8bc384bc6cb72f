import type { GroupRules } from '../../kind-rules.ts'
import { groupRules } from '../group-rules.ts'
import { endpointSliceRules } from './endpoint-slice.ts'

export const discovery: GroupRules = groupRules({ EndpointSlice: endpointSliceRules })
