import { useSignal } from '@preact/signals'
import type { ComponentChildren, JSX } from 'preact'
import { useEffect } from 'preact/hooks'
import { formatMoment, momentForms, parseMoment, type Moment } from '#/history/moment.ts'
import type { ObjectDiff, ObjectDiffType } from '#/history/object-diff.ts'
import { Notice } from '../components/notice.tsx'
import { errorText } from '../data/api-error.ts'
import { resourceOfKind } from '../data/api-resource.ts'
import { discovery } from '../data/discovery.ts'
import { formatTime } from '../format/format-time.ts'
import { hrefOfObject, namespace, replaceQuery, route } from '../router/router.ts'
import { FieldChanges } from './field-changes.tsx'
import { isWithoutHistory, noHistoryText } from './no-history.ts'
import { readDifferences, writesMax, type Differences } from './read-differences.ts'

const fromDefault = '10m'

/** What was added, removed and changed between two moments. */
export function CompareView(): JSX.Element {
  const { from = fromDefault, to = '', spec } = route.value.query
  const specOnly = spec === 'true'
  const fields = useSignal({ from, to })
  useEffect(() => {
    fields.value = { from, to }
  }, [from, to])
  useEffect(() => {
    document.title = 'Compare - k8ts'
  }, [])
  const submit = (event: Event): void => {
    event.preventDefault()
    replaceQuery(fields.value)
  }
  const field = (name: 'from' | 'to', placeholder: string): JSX.Element => (
    <input
      type="text"
      value={fields.value[name]}
      placeholder={placeholder}
      spellcheck={false}
      onInput={event => (fields.value = { ...fields.value, [name]: event.currentTarget.value })}
    />
  )
  return (
    <div class="compare">
      <header class="view-header">
        <h1>Compare</h1>
        <p class="count">{namespace.value === '' ? 'all namespaces' : `namespace ${namespace.value}`}</p>
      </header>
      <form class="compare-form" onSubmit={submit}>
        <label class="field">
          From
          {field('from', fromDefault)}
        </label>
        <label class="field">
          To
          {field('to', 'now')}
        </label>
        <button type="submit" class="button is-primary">
          Compare
        </button>
        <label class="check">
          <input
            type="checkbox"
            checked={!specOnly}
            onChange={event => replaceQuery({ spec: event.currentTarget.checked ? undefined : 'true' })}
          />
          Changes of the status
        </label>
        <p class="detail">A moment is {momentForms}.</p>
      </form>
      <Result from={from} to={to} specOnly={specOnly} />
    </div>
  )
}

interface ResultProps {
  readonly from: string
  readonly to: string
  readonly specOnly: boolean
}

interface ResultState {
  readonly differences?: Differences
  readonly error?: unknown
}

function Result(props: ResultProps): JSX.Element {
  const { from, to, specOnly } = props
  const within = namespace.value
  const state = useSignal<ResultState>({})
  useEffect(() => {
    const ended = new AbortController()
    state.value = {}
    const read = async (): Promise<void> => {
      try {
        const [start, end] = momentsOf(props)
        const query = { from: start, to: end, namespace: within, specOnly, signal: ended.signal }
        const differences = await readDifferences(query)
        state.value = { differences }
      } catch (error) {
        if (!ended.signal.aborted) state.value = { error }
      }
    }
    void read()
    return () => ended.abort()
  }, [from, to, specOnly, within])
  const { differences, error } = state.value
  if (error !== undefined) {
    if (isWithoutHistory(error)) return <Notice tone="idle" title={noHistoryText} />
    return <Notice tone="warn" title="The moments cannot be compared" detail={errorText(error)} />
  }
  if (differences === undefined) return <Notice tone="busy" title="Comparing" />
  return <DifferenceList differences={differences} />
}

function momentsOf({ from, to }: ResultProps): readonly [Moment, Moment | undefined] {
  const [start, end] = [from, to].map(text => parseMoment(text.trim(), Date.now()))
  if (start === undefined) throw new Error(`From: ${from} is not ${momentForms}.`)
  if (end === undefined && to.trim() !== '') throw new Error(`To: ${to} is not ${momentForms}.`)
  return [start, end]
}

function textOfMoment(moment: Moment): string {
  return moment.type === 'revision' ? formatMoment(moment) : formatTime(moment.timeMs)
}

const titles: Readonly<Record<ObjectDiffType, string>> = {
  added: 'Added',
  removed: 'Removed',
  replaced: 'Deleted and created again',
  changed: 'Changed',
  transient: 'Created and deleted in between',
}

function DifferenceList({ differences }: { readonly differences: Differences }): JSX.Element {
  const { diffs, left, from, to, sinceTime, readUntil } = differences
  const byType = Map.groupBy(diffs, ({ type }) => type)
  const counts = types.flatMap(type => {
    const { length = 0 } = byType.get(type) ?? {}
    return length === 0 ? [] : [`${length} ${titles[type].toLowerCase()}`]
  })
  return (
    <>
      <p class="topology-summary" aria-live="polite">
        <strong>{counts.length === 0 ? 'No differences' : counts.join(', ')}</strong>{' '}
        <span class="detail">
          from {textOfMoment(from)} to {textOfMoment(to)}
          {sinceTime === undefined ? '' : `; history begins at ${formatTime(sinceTime)}`}
        </span>
      </p>
      {readUntil === undefined ? null : (
        <Notice
          tone="warn"
          title={`More than ${writesMax.toLocaleString('en')} writes: compared until ${formatTime(readUntil)}`}
          detail="Select a namespace, or a later start, to compare the rest."
        />
      )}
      {left > 0 ? (
        <Notice
          tone="warn"
          title={`${left} more objects changed and are not compared: select a namespace or a shorter time`}
        />
      ) : null}
      {types.map(type => {
        const found = byType.get(type) ?? []
        if (found.length === 0) return null
        return (
          <section key={type} class="card" aria-label={titles[type]}>
            <h2>{titles[type]}</h2>
            {found.map(diff => (
              <ObjectDifference
                key={`${diff.object.kind} ${diff.object.namespace} ${diff.object.name}`}
                diff={diff}
              />
            ))}
          </section>
        )
      })}
    </>
  )
}

const types: readonly ObjectDiffType[] = ['added', 'removed', 'replaced', 'changed', 'transient']

function ObjectDifference({ diff }: { readonly diff: ObjectDiff }): JSX.Element {
  const { object, changes, authors, writes } = diff
  const { kind, namespace: within = '', name } = object
  const resource = resourceOfKind(discovery.value.resources, object)
  const title = `${kind} ${within === '' ? '' : `${within}/`}${name}`
  const key = { namespace: within, name }
  const link = (text: string): ComponentChildren =>
    resource ? <a href={hrefOfObject(resource, key, { tab: 'history' })}>{text}</a> : text
  const how = ` by ${authors.join(', ')}${writes > 1 ? `, ${writes} writes` : ''}`
  if (changes.length === 0) {
    return (
      <p class="object-difference">
        {link(title)}
        <span class="detail">{how}</span>
      </p>
    )
  }
  return (
    <details class="object-difference">
      <summary>
        {title}
        <span class="detail">
          {how}, {changes.length} {changes.length === 1 ? 'field' : 'fields'}
        </span>
      </summary>
      <FieldChanges changes={changes} />
      {resource ? <p>{link('History of the object')}</p> : null}
    </details>
  )
}
