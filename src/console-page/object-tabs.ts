/** The tabs of an object's page. A tab is added here: the page, and the keys of lists, read this table. */
import type { ComponentType } from 'preact'
import type { KubernetesObject } from '#/api/metadata.ts'
import { resourceId, type ApiResource } from './data/api-resource.ts'

export interface ObjectTab {
  /** In the address: `?tab=logs`. */
  readonly name: string
  readonly title: string
  /** Keys that open it from a list or the page; empty for none. */
  readonly keys: string
  readonly appliesTo: (resource: ApiResource) => boolean
  readonly load: () => Promise<ComponentType<ObjectTabProps>>
}

export interface ObjectTabProps {
  readonly resource: ApiResource
  /** The current version; rendered again with each change. */
  readonly object: KubernetesObject
  /** True after the object was deleted; `object` is its last version then. */
  readonly isDeleted: boolean
}

const workloads: ReadonlySet<string> = new Set(
  'pods services deployments.apps replicasets.apps statefulsets.apps daemonsets.apps jobs.batch'.split(' '),
)

export const objectTabs: readonly ObjectTab[] = [
  {
    name: 'overview',
    title: 'Overview',
    keys: 'd',
    appliesTo: () => true,
    load: async () => (await import('./object/overview-tab.tsx')).OverviewTab,
  },
  {
    name: 'edit',
    title: 'YAML',
    keys: 'y',
    appliesTo: ({ verbs }) => verbs.includes('get'),
    load: async () => (await import('./editor/edit-tab.tsx')).EditTab,
  },
  {
    name: 'events',
    title: 'Events',
    keys: '',
    appliesTo: ({ group, kind }) => kind !== 'Event' || group === '',
    load: async () => (await import('./object/events-tab.tsx')).EventsTab,
  },
  {
    name: 'logs',
    title: 'Logs',
    keys: 'l',
    appliesTo: resource => workloads.has(resourceId(resource)),
    load: async () => (await import('./logs/logs-tab.tsx')).LogsTab,
  },
  {
    name: 'shell',
    title: 'Shell',
    keys: 's',
    appliesTo: ({ group, kind }) => group === '' && kind === 'Pod',
    load: async () => (await import('./terminal/shell-tab.tsx')).ShellTab,
  },
  {
    name: 'scheduling',
    title: 'Scheduling',
    keys: '',
    appliesTo: ({ group, kind }) => group === '' && kind === 'Pod',
    load: async () => (await import('./scheduler/decision-panel.tsx')).SchedulingTab,
  },
  {
    name: 'chain',
    title: 'Chain',
    keys: 'c',
    appliesTo: () => true,
    load: async () => (await import('./chain/chain-tab.tsx')).ChainTab,
  },
  {
    name: 'history',
    title: 'History',
    keys: '',
    appliesTo: ({ verbs }) => verbs.includes('get'),
    load: async () => (await import('./history/history-tab.tsx')).HistoryTab,
  },
]
