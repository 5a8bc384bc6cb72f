import type { GroupRules } from '../../kind-rules.ts'
import { groupRules } from '../group-rules.ts'
import { eventRules } from './event.ts'

export const events: GroupRules = groupRules({ Event: eventRules })
