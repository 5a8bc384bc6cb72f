/** Rules and table columns of `events.k8s.io`. */
import type { GroupColumns } from '../../table-columns.ts'
import { eventColumns } from '../core/event-columns.ts'
import type { GroupRules } from '../../kind-rules.ts'
import { eventRules } from './event.ts'

export const eventsRules: GroupRules = { Event: eventRules }

export const eventsColumns: GroupColumns = { Event: eventColumns }
