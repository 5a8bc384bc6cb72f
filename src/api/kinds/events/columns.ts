/** Table columns for `events.k8s.io`. Events are stored in the core version. */
import type { GroupColumns } from '../../table-columns.ts'
import { eventColumns } from '../core/columns/event.ts'

export const eventsColumns: GroupColumns = { Event: eventColumns }
