/**
 * The views of the console that are not lists of one resource. A view is added here: navigation, command bar and router
 * read this table.
 */
import type { ComponentType } from 'preact'
import type { IconName } from './components/icon.tsx'

export interface View {
  /** First segment of the address: `#/access`. */
  readonly path: string
  readonly title: string
  readonly icon: IconName
  /** Title of the part of the navigation that shows the view. */
  readonly section: string
  /** Words of the command bar beside the path. */
  readonly words: readonly string[]
  /** Loads the code of the view. It reads the rest of the address from the router. */
  readonly load: () => Promise<ComponentType>
}

export const views: readonly View[] = [
  {
    path: 'topology',
    title: 'Topology',
    icon: 'topology',
    section: '',
    words: ['topo', 'map'],
    load: async () => (await import('./topology/topology-view.tsx')).TopologyView,
  },
  {
    path: 'chain',
    title: 'Chain',
    icon: 'network',
    section: '',
    words: ['trace', 'chains'],
    load: async () => (await import('./chain/chain-view.tsx')).ChainView,
  },
  {
    path: 'compare',
    title: 'Compare',
    icon: 'history',
    section: '',
    words: ['diff'],
    load: async () => (await import('./history/compare-view.tsx')).CompareView,
  },
  {
    path: 'events',
    title: 'Events',
    icon: 'event',
    section: 'Cluster',
    words: ['ev', 'event'],
    load: async () => (await import('./views/events-view.tsx')).EventsView,
  },
  {
    path: 'scheduler',
    title: 'Scheduler',
    icon: 'scheduler',
    section: 'Cluster',
    words: ['scheduling', 'sched'],
    load: async () => (await import('./scheduler/scheduler-view.tsx')).SchedulerView,
  },
  {
    path: 'internals',
    title: 'Internals',
    icon: 'gauge',
    section: 'Cluster',
    words: ['queues', 'informers', 'watches', 'leases'],
    load: async () => (await import('./internals/internals-view.tsx')).InternalsView,
  },
  {
    path: 'access',
    title: 'Who can',
    icon: 'key',
    section: 'Access',
    words: ['whocan', 'can-i'],
    load: async () => (await import('./views/access-view.tsx')).AccessView,
  },
]
