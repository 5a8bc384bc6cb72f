import { useSignal } from '@preact/signals'
import type { JSX } from 'preact'
import { useEffect, useMemo } from 'preact/hooks'
import { isFromOutside } from '#/trace/is-from-outside.ts'
import { formatMs } from '#/trace/format-trace.ts'
import type { WriteRecord } from '#/api/write-record.ts'
import { Age } from '../components/age.tsx'
import { Notice } from '../components/notice.tsx'
import { errorText } from '../data/api-error.ts'
import { resourceOfKind } from '../data/api-resource.ts'
import { discovery } from '../data/discovery.ts'
import { nextFrame } from '../data/next-frame.ts'
import { isWithoutHistory, noHistoryText } from '../history/no-history.ts'
import { streamWrites } from '../history/stream-writes.ts'
import { namespace, replaceQuery, route } from '../router/router.ts'
import { ChainPanel } from './chain-panel.tsx'
import { RecentChains, type RecentChain } from './recent-chains.ts'

/** The latest requests of clients, and the chain of the selected one. */
export function ChainView(): JSX.Element {
  const { chains, message, isWithout } = useRecentChains(namespace.value)
  const revision = Number(route.value.query['revision'] ?? 0)
  const isFollowing = revision === 0
  // What was selected stays, also after it has left the list of the latest.
  const kept = useSignal<RecentChain | undefined>(undefined)
  const selected = isFollowing
    ? (chains.find(({ writes }) => writes > 1) ?? chains[0])
    : (chains.find(({ root }) => root.revision === revision) ?? kept.value)
  useEffect(() => {
    kept.value = selected
  }, [selected?.root.revision])
  useEffect(() => {
    document.title = 'Chain - k8ts'
  }, [])
  return (
    <div class="chain-view">
      <header class="view-header">
        <h1>Chain</h1>
        <p class="count">Latest requests, and what they caused</p>
        <span class="view-header-space" />
        <label class="check">
          <input
            type="checkbox"
            checked={isFollowing}
            onChange={() =>
              replaceQuery({ revision: isFollowing ? String(selected?.root.revision ?? '') : undefined })
            }
          />
          Follow the latest
        </label>
      </header>
      {isWithout ? <Notice tone="idle" title={noHistoryText} /> : null}
      {message === undefined || isWithout ? null : (
        <Notice tone="warn" title="Reconnecting; the list may be out of date" detail={message} />
      )}
      {chains.length === 0 && message === undefined ? (
        <Notice tone="busy" title="Waiting for a request of a client, such as kubectl apply" />
      ) : null}
      <ul class="chain-requests" aria-label="Latest requests">
        {chains.slice(0, shownMax).map(chain => (
          <li key={chain.root.revision}>
            <RequestButton chain={chain} isSelected={chain === selected} />
          </li>
        ))}
      </ul>
      {selected ? <SelectedChain key={selected.root.revision} root={selected.root} /> : null}
    </div>
  )
}

const shownMax = 30

function RequestButton({
  chain,
  isSelected,
}: {
  readonly chain: RecentChain
  readonly isSelected: boolean
}): JSX.Element {
  const { root, writes, endedMs } = chain
  const { origin, object, timeMs } = root
  const verb = [origin?.verb, origin?.subresource].filter(Boolean).join(' ')
  const startedMs = origin?.receivedMs ?? timeMs
  const effect =
    writes === 1
      ? 'no other writes'
      : `${writes - 1} more writes in ${formatMs(Math.max(0, endedMs - startedMs))}`
  return (
    <button
      type="button"
      aria-pressed={isSelected}
      onClick={() => replaceQuery({ revision: String(root.revision) })}
    >
      <span>
        <strong>{verb}</strong> {object.kind} {object.namespace ? `${object.namespace}/` : ''}
        {object.name}
      </span>
      <span class="detail">
        {origin?.user}, {effect}, <Age time={new Date(timeMs).toISOString()} /> ago
      </span>
    </button>
  )
}

function SelectedChain({ root: { object, revision } }: { readonly root: WriteRecord }): JSX.Element | null {
  const resource = resourceOfKind(discovery.value.resources, object)
  if (resource === undefined) return null
  const { namespace: within = '', name } = object
  // A chain that is paused stays, also when another request follows.
  const onPause = (): void => replaceQuery({ revision: String(revision) })
  return (
    <ChainPanel resource={resource} namespace={within} name={name} atRevision={revision} onPause={onPause} />
  )
}

const sinceMs = 900_000
const retryMs = 3_000

interface RecentState {
  readonly chains: readonly RecentChain[]
  readonly message?: string
  readonly isWithout?: boolean
}

function useRecentChains(within: string): RecentState {
  const state = useSignal<RecentState>({ chains: [] })
  const recent = useMemo(() => new RecentChains(isRequest), [within])
  useEffect(() => {
    const ended = new AbortController()
    let isRequested = false
    const publish = (): void => {
      if (isRequested) return
      isRequested = true
      nextFrame(() => {
        isRequested = false
        if (!ended.signal.aborted) state.value = { chains: recent.latestFirst() }
      })
    }
    let after: number | undefined
    const read = async (): Promise<void> => {
      const query = after === undefined ? { sinceMs: Date.now() - sinceMs } : { after }
      for await (const batch of streamWrites({
        ...query,
        namespace: within,
        follow: true,
        signal: ended.signal,
      })) {
        if (!('writes' in batch)) continue
        for (const write of batch.writes) {
          after = write.revision
          if (recent.add(write)) publish()
        }
      }
    }
    const keepReading = async (): Promise<void> => {
      while (!ended.signal.aborted) {
        try {
          await read()
        } catch (error) {
          if (ended.signal.aborted) return
          const isWithout = isWithoutHistory(error)
          state.value = { ...state.peek(), message: errorText(error), isWithout }
          if (isWithout) return
        }
        await new Promise(resolve => setTimeout(resolve, retryMs))
      }
    }
    void keepReading()
    return () => ended.abort()
  }, [within])
  return state.value
}

/** Leases and events of clients are of no interest here. */
function isRequest(write: WriteRecord): boolean {
  const { resource } = write.object
  return isFromOutside(write) && resource !== 'events' && resource !== 'leases'
}
