import type { JSX } from 'preact'
import { Age } from '../components/age.tsx'
import { Notice } from '../components/notice.tsx'
import { PolledState } from '../components/polled-state.tsx'
import { ApiError } from '../data/api-error.ts'
import { readJson, usePolled } from '../data/use-polled.ts'
import type { ObjectTabProps } from '../object-tabs.ts'
import { DecisionMatrix } from './decision-matrix.tsx'
import { countRejections, type PodDecision } from './decision-rows.ts'

export interface DecisionPanelProps {
  readonly namespace: string
  readonly name: string
  /** Of the pod that is shown; a decision on an earlier pod with its name is not shown. */
  readonly uid?: string | undefined
}

const intervalMs = 2_000

const absentDetail =
  'The scheduler keeps the latest 1,000 decisions since it started. ' +
  'A pod with a scheduling gate, with its node set, or of another scheduler has none.'

/** The last scheduling decision on a pod. */
export function DecisionPanel({ namespace, name, uid }: DecisionPanelProps): JSX.Element {
  const path = `/debug/scheduling/${encodeURIComponent(namespace)}/${encodeURIComponent(name)}`
  const polled = usePolled({ path, intervalMs, read: readJson<PodDecision> })
  const { data, error } = polled
  const isAbsent = error instanceof ApiError && error.status === 404
  if (isAbsent || (data && uid !== undefined && data.uid !== uid)) {
    return (
      <Notice
        tone="idle"
        title={`No scheduling decision on pod ${namespace}/${name}`}
        detail={absentDetail}
      />
    )
  }
  return (
    <>
      <PolledState polled={polled} path={path} what="the scheduling decision" />
      {data ? <Decision decision={data} /> : null}
    </>
  )
}

/** Tab of a Pod: on which nodes it could run, and why it was scheduled where it is. */
export function SchedulingTab({ object }: ObjectTabProps): JSX.Element {
  const { namespace = '', name = '', uid } = object.metadata
  return <DecisionPanel namespace={namespace} name={name} uid={uid} />
}

function Decision({ decision }: { readonly decision: PodDecision }): JSX.Element {
  const { node, message, nodes, evaluatedNodes, scored, rejected, time } = decision
  const counts = countRejections(decision)
  const examined = `${nodes} ${nodes === 1 ? 'node' : 'nodes'}, ${evaluatedNodes} examined`
  return (
    <>
      <Notice tone={node === undefined ? 'warn' : 'good'} title={message} />
      <p class="decision-facts">
        <span>{`${examined}, ${scored.length} feasible, ${rejected.length} rejected`}</span>
        <span>
          <Age time={time} /> ago
        </span>
        {scored.length === 1 && node !== undefined ? (
          <span>The only feasible node is chosen without scores.</span>
        ) : null}
      </p>
      {counts.length > 0 ? (
        <ul class="rejections" aria-label="Rejections">
          {counts.map(({ plugin, reason, nodes: rejectedNodes }) => (
            <li key={`${plugin} ${reason}`}>
              <strong>{rejectedNodes}</strong> {reason} <span class="detail">{plugin}</span>
            </li>
          ))}
        </ul>
      ) : null}
      <DecisionMatrix decision={decision} />
    </>
  )
}
