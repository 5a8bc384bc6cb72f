/** The tables of `events.k8s.io`. Events are stored in the form of the core group. */
import type { GroupColumns } from '../../table-columns.ts'
import { eventColumns } from '../core/columns/event.ts'

export const eventsColumns: GroupColumns = { Event: eventColumns }
