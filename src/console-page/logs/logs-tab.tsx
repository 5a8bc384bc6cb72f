import { useSignal } from '@preact/signals'
import type { JSX } from 'preact'
import { useMemo } from 'preact/hooks'
import type { Pod } from '#/api/generated/core/v1.ts'
import { ListState } from '../components/list-state.tsx'
import { Notice } from '../components/notice.tsx'
import { useObjects } from '../data/subscriptions.ts'
import type { ListQuery } from '../data/watched-list.ts'
import { formatSelector } from '../format/format-selector.ts'
import type { ObjectTabProps } from '../object-tabs.ts'
import { route } from '../router/router.ts'
import type { LogLine } from './log-buffer.ts'
import { LogLines } from './log-lines.tsx'
import { LogToolbar } from './log-toolbar.tsx'
import { logSources, sourcesMax } from './log-sources.ts'
import { plainText } from './parse-ansi.ts'
import { useLogs } from './use-logs.ts'

const tailLinesOfOne = 1_000
const tailLinesOfMany = 200

/** Logs of a pod, or of all pods of a workload or service. */
export function LogsTab(props: ObjectTabProps): JSX.Element {
  const { pods, state } = usePods(props)
  const { container = '', pod = '', filter = '', previous, times } = route.value.query
  const isPrevious = previous === 'true'
  const hasTimes = times === 'true'
  const isWrapped = useSignal(true)
  const isFollowing = useSignal(true)
  /** The lines that stay while the view is paused. */
  const paused = useSignal<readonly LogLine[] | undefined>(undefined)
  const sources = logSources(pods, { pod, container, isPrevious })
  const tailLines = sources.length > 1 ? tailLinesOfMany : tailLinesOfOne
  const generation = `${props.object.metadata.uid} ${pod} ${container} ${isPrevious}`
  const { lines, dropped, errors } = useLogs(sources, generation, { isPrevious, tailLines })
  const shown = filterLines(paused.value ?? lines, filter)
  const togglePause = (): void => {
    paused.value = paused.peek() ? undefined : lines
  }
  return (
    <div class="logs-tab">
      <LogToolbar
        pods={pods}
        isWrapped={isWrapped}
        isFollowing={isFollowing}
        isPaused={paused.value !== undefined}
        onPause={togglePause}
      />
      {state}
      {[...errors].map(([source, message]) => (
        <Notice key={source} tone="warn" title={source} detail={message} />
      ))}
      <LogLines
        lines={shown}
        isFollowing={isFollowing.value && paused.value === undefined}
        onFollowing={value => (isFollowing.value = value)}
        hasTimes={hasTimes}
        hasSources={sources.length > 1}
        isWrapped={isWrapped.value}
      />
      <p class="detail">
        {describeCount({ shown: shown.length, all: lines.length, dropped })}
        {sources.length > sourcesMax
          ? ` Only the first ${sourcesMax} of ${sources.length} containers are read.`
          : null}
      </p>
    </div>
  )
}

interface FoundPods {
  readonly pods: readonly Pod[]
  /** Shown while there are none. */
  readonly state: JSX.Element | null
}

function usePods({ resource, object }: ObjectTabProps): FoundPods {
  const isPod = resource.kind === 'Pod'
  const { namespace = '' } = object.metadata
  const { selector } =
    (object as { readonly spec?: { readonly selector?: Readonly<Record<string, unknown>> } }).spec ?? {}
  const labelSelector = formatSelector(selector)
  const query = useMemo((): ListQuery | undefined => {
    if (isPod || labelSelector === '') return undefined
    return { path: `/api/v1/namespaces/${encodeURIComponent(namespace)}/pods`, parameters: { labelSelector } }
  }, [isPod, namespace, labelSelector])
  const { phase, items, error } = useObjects<Pod & { readonly metadata: object }>(query)
  if (isPod) return { pods: [object as Pod], state: null }
  if (query === undefined) return { pods: [], state: <Notice tone="idle" title="It selects no pods" /> }
  const pods = [...items.values()].sort((left, right) => (podName(left) < podName(right) ? -1 : 1))
  const state = (
    <ListState phase={phase} error={error} what="pods" namespace={namespace} isEmpty={pods.length === 0} />
  )
  return { pods, state }
}

function podName({ metadata }: Pod): string {
  return metadata?.name ?? ''
}

function filterLines(lines: readonly LogLine[], filter: string): readonly LogLine[] {
  const words = filter.toLowerCase().split(/\s+/).filter(Boolean)
  if (words.length === 0) return lines
  return lines.filter(({ source, text }) => {
    const searched = `${source} ${plainText(text)}`.toLowerCase()
    return words.every(word => searched.includes(word))
  })
}

interface LineCounts {
  readonly shown: number
  readonly all: number
  readonly dropped: number
}

function describeCount({ shown, all, dropped }: LineCounts): string {
  if (all === 0) return 'No lines yet.'
  const lines = `${all.toLocaleString('en')} ${all === 1 ? 'line' : 'lines'}`
  const count = shown === all ? lines : `${shown.toLocaleString('en')} of ${lines}`
  return dropped === 0 ? `${count}.` : `${count}; ${dropped} older ones are no longer kept.`
}
