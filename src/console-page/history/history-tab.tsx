import { useSignal } from '@preact/signals'
import type { JSX } from 'preact'
import { useMemo } from 'preact/hooks'
import type { ObjectVersion } from '#/api/object-history.ts'
import {
  describeAuthor,
  describeVerb,
  isStatusOnly,
  summarizeVersion,
  visibleChanges,
  type VersionStep,
} from '#/history/describe-version.ts'
import { Age } from '../components/age.tsx'
import { CopyButton } from '../components/copy-button.tsx'
import { Notice } from '../components/notice.tsx'
import { resourceId } from '../data/api-resource.ts'
import { formatTime } from '../format/format-time.ts'
import { useKeys } from '../keyboard/key-bindings.ts'
import type { ObjectTabProps } from '../object-tabs.ts'
import { hrefOf } from '../router/router.ts'
import { FieldChanges } from './field-changes.tsx'
import { noHistoryText } from './no-history.ts'
import { useVersions } from './use-versions.ts'
import { stepsOf } from './version-list.ts'

/** The versions of the object: who changed what and when, and the difference of any two. */
export function HistoryTab({ resource, object }: ObjectTabProps): JSX.Element {
  const history = useVersions(resource, object)
  const withStatus = useSignal(true)
  const chosen = useSignal<Chosen>({ from: undefined, to: undefined })
  const all = useMemo(() => stepsOf(history), [history.versions])
  const steps = useMemo(
    () => (withStatus.value ? all : all.filter(step => !isStatusOnly(step))),
    [all, withStatus.value],
  )
  const to = all.find(({ version }) => version.revision === chosen.value.to) ?? steps[0]
  const from = all.find(({ version }) => version.revision === chosen.value.from)?.version ?? to?.previous
  const move = (direction: 1 | -1): void => {
    const next = steps[steps.findIndex(step => step === to) + direction]
    if (next) chosen.value = { from: undefined, to: next.version.revision }
  }
  useKeys([
    { keys: 'j ArrowDown', title: 'Older version', run: () => move(1) },
    { keys: 'k ArrowUp', title: 'Newer version', run: () => move(-1) },
  ])
  const { phase, message, since, older } = history
  if (phase === 'no-history') return <Notice tone="idle" title={noHistoryText} />
  if (phase === 'loading') return <Notice tone="busy" title="Reading the history" />
  if (phase === 'failed') return <Notice tone="warn" title="The history cannot be read" detail={message} />
  if (all.length === 0)
    return <Notice tone="idle" title="No version of this object is kept" detail={sinceText(since)} />
  return (
    <div class="history">
      <div class="history-head">
        <p class="detail">
          {steps.length} {steps.length === 1 ? 'version' : 'versions'}
          {older === undefined ? `; ${sinceText(since)}` : ' so far'}
        </p>
        <label class="check">
          <input
            type="checkbox"
            checked={withStatus.value}
            onChange={event => (withStatus.value = event.currentTarget.checked)}
          />
          Changes of the status
        </label>
      </div>
      <div class="history-columns">
        <div class="card history-versions">
          <VersionTable steps={steps} from={from} to={to?.version} chosen={chosen} />
          {older === undefined ? null : (
            <button type="button" class="button" onClick={() => history.loadOlder()}>
              Older versions
            </button>
          )}
        </div>
        {to === undefined ? null : (
          <Difference
            from={from}
            to={to}
            undoCommand={undoCommand(resourceId(resource), to.version, object.metadata)}
          />
        )}
      </div>
    </div>
  )
}

interface Chosen {
  /** Revisions; the version before `to` if `from` is undefined. */
  readonly from: number | undefined
  readonly to: number | undefined
}

function sinceText(since: string | undefined): string {
  return since === undefined ? '' : `history is kept since ${formatTime(since)}`
}

function undoCommand(
  id: string,
  { revision }: ObjectVersion,
  { namespace, name = '' }: { readonly namespace?: string; readonly name?: string },
): string {
  return `k8ts undo ${id} ${name} --to ${revision}${namespace ? ` -n ${namespace}` : ''}`
}

interface VersionTableProps {
  readonly steps: readonly VersionStep[]
  readonly from: ObjectVersion | undefined
  readonly to: ObjectVersion | undefined
  readonly chosen: { value: Chosen }
}

function VersionTable({ steps, from, to, chosen }: VersionTableProps): JSX.Element {
  return (
    <table class="table">
      <thead>
        <tr>
          <th scope="col">From</th>
          <th scope="col">To</th>
          <th scope="col">When</th>
          <th scope="col">Who</th>
          <th scope="col">Changes</th>
        </tr>
      </thead>
      <tbody>
        {steps.map(step => (
          <VersionRow
            key={step.version.revision}
            step={step}
            isFrom={step.version.revision === from?.revision}
            isTo={step.version.revision === to?.revision}
            choose={changes => (chosen.value = { from: from?.revision, to: to?.revision, ...changes })}
          />
        ))}
      </tbody>
    </table>
  )
}

interface VersionRowProps {
  readonly step: VersionStep
  readonly isFrom: boolean
  readonly isTo: boolean
  readonly choose: (changes: Partial<Chosen>) => void
}

function VersionRow({ step, isFrom, isTo, choose }: VersionRowProps): JSX.Element {
  const { revision, time, origin } = step.version
  const summary = useMemo(() => summarizeVersion(step), [step.version, step.previous])
  return (
    <tr aria-selected={isTo}>
      <td>
        <input
          type="radio"
          name="from-version"
          aria-label={`From revision ${revision}`}
          checked={isFrom}
          onChange={() => choose({ from: revision })}
        />
      </td>
      <td>
        <input
          type="radio"
          name="to-version"
          aria-label={`To revision ${revision}`}
          checked={isTo}
          onChange={() => choose({ to: revision })}
        />
      </td>
      <td class="history-when">
        <Age time={time} />
        <span class="detail"> @{revision}</span>
      </td>
      <td class="is-text">
        {describeAuthor(origin)}
        <span class="detail"> {describeVerb(origin)}</span>
      </td>
      <td class="is-text">
        <button
          type="button"
          class="link-button"
          onClick={() => choose({ to: revision, from: step.previous?.revision })}
        >
          {summary}
        </button>
      </td>
    </tr>
  )
}

interface DifferenceProps {
  readonly from: ObjectVersion | undefined
  readonly to: VersionStep
  readonly undoCommand: string
}

function Difference({ from, to: { version: to }, undoCommand: command }: DifferenceProps): JSX.Element {
  const [before, after] = [from?.object, to.object]
  const changes = useMemo(
    () => (before && after ? visibleChanges(before, after) : undefined),
    [before, after],
  )
  return (
    <section class="card history-difference" aria-label="Difference">
      <h2>
        {from === undefined ? '' : `Revision ${from.revision} to `}
        {from === undefined ? 'Revision' : 'revision'} {to.revision}
        {to.type === 'DELETED' ? ', deleted' : ''}
      </h2>
      <p class="detail">
        {formatTime(to.time)} by {describeAuthor(to.origin)}, {describeVerb(to.origin)}
      </p>
      {changes === undefined ? (
        <p>
          {to.type === 'ADDED' ? 'The object was created.' : 'There is no earlier version to compare with.'}
        </p>
      ) : changes.length === 0 ? (
        <p>No difference apart from managedFields.</p>
      ) : (
        <FieldChanges changes={changes} />
      )}
      <p>
        <a href={hrefOf(['topology'], { show: 'objects', at: to.time })}>Topology at this moment</a>
      </p>
      {to.object === undefined ? null : (
        <p class="command">
          <code>{command}</code>
          <CopyButton text={command} />
        </p>
      )}
    </section>
  )
}
