import type { JSX } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { CopyButton } from '../components/copy-button.tsx'
import { ApiError, errorText } from '../data/api-error.ts'
import { requestConsole } from '../data/api-request.ts'
import { resourceId } from '../data/api-resource.ts'
import type { ObjectTabProps } from '../object-tabs.ts'
import { Card } from './fields.tsx'

/** What `k8ts why` prints. */
interface Diagnosis {
  readonly code: string
  readonly summary: string
  readonly evidence: readonly { readonly source: string; readonly text: string }[]
  readonly remedies: readonly { readonly text: string; readonly command?: string }[]
  readonly unread: readonly string[]
}

/** A diagnosis reads several objects, so changes in quick succession cause one. */
const settleMs = 1_000

type State = { readonly diagnosis?: Diagnosis; readonly message?: string }

/** Why the object is in its state, as `k8ts why` explains it. Diagnosed again when the object changes. */
export function WhyCard({ resource, object }: ObjectTabProps): JSX.Element | null {
  const { name = '', namespace = '', resourceVersion } = object.metadata
  const id = resourceId(resource)
  const [{ diagnosis, message }, setState] = useState<State>({})
  useEffect(() => {
    const ended = new AbortController()
    const path = `/why/${encodeURIComponent(id)}/${encodeURIComponent(name)}?${new URLSearchParams({ namespace })}`
    const diagnose = async (): Promise<void> => {
      try {
        const response = await requestConsole(path, { signal: ended.signal })
        const found = (await response.json()) as Diagnosis
        setState({ diagnosis: found })
      } catch (error) {
        // Not every kind can be explained.
        const isUnknown = error instanceof ApiError && error.status === 404
        if (!ended.signal.aborted) setState(isUnknown ? {} : { message: errorText(error) })
      }
    }
    const timer = setTimeout(() => void diagnose(), diagnosis ? settleMs : 0)
    return () => {
      clearTimeout(timer)
      ended.abort()
    }
  }, [id, namespace, name, resourceVersion])
  if (message !== undefined) {
    return (
      <Card title="Why" isWide>
        <p class="detail">{message}</p>
      </Card>
    )
  }
  if (diagnosis === undefined) return null
  return <DiagnosisCard diagnosis={diagnosis} />
}

function DiagnosisCard({ diagnosis }: { readonly diagnosis: Diagnosis }): JSX.Element {
  const { code, summary, evidence, remedies, unread } = diagnosis
  const isHealthy = code === 'Healthy'
  return (
    <section class={`card is-wide why ${isHealthy ? 'tone-good' : 'tone-warn'}`} aria-label="Why">
      <h2>
        <span class="status-mark" aria-hidden="true" />
        {summary}
      </h2>
      {isHealthy || evidence.length === 0 ? null : (
        <details open>
          <summary>Evidence</summary>
          <dl class="fields">
            {evidence.map(({ source, text }, index) => (
              <div key={index}>
                <dt>{source}</dt>
                <dd>{text}</dd>
              </div>
            ))}
          </dl>
        </details>
      )}
      {isHealthy || remedies.length === 0 ? null : (
        <ul class="remedies">
          {remedies.map(({ text, command }, index) => (
            <li key={index}>
              {text}
              {command === undefined ? null : <Command text={command} />}
            </li>
          ))}
        </ul>
      )}
      {unread.length === 0 ? null : <p class="detail">Not read: {unread.join('; ')}</p>}
    </section>
  )
}

function Command({ text }: { readonly text: string }): JSX.Element {
  return (
    <span class="command">
      <code>{text}</code>
      <CopyButton text={text} />
    </span>
  )
}
