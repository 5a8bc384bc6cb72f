import type { JSX } from 'preact'
import type { KubernetesObject } from '#/api/metadata.ts'
import { Age } from '../components/age.tsx'
import { StatusText } from '../components/status-text.tsx'
import { toneOfCondition } from '../format/tone.ts'
import { Card } from './fields.tsx'

interface Condition {
  readonly type: string
  readonly status: string
  readonly reason?: string
  readonly message?: string
  readonly lastTransitionTime?: string
}

/** The conditions of an object; nothing if it has none. */
export function Conditions({ object }: { readonly object: KubernetesObject }): JSX.Element | null {
  const conditions = conditionsOf(object)
  if (conditions.length === 0) return null
  return (
    <Card title="Conditions">
      <table class="table is-stacked">
        <thead>
          <tr>
            <th scope="col">Type</th>
            <th scope="col">Status</th>
            <th scope="col">Since</th>
            <th scope="col">Reason</th>
          </tr>
        </thead>
        <tbody>
          {conditions.map(({ type, status, reason, message, lastTransitionTime }) => (
            <tr key={type}>
              <th scope="row">{type}</th>
              <td>
                <StatusText tone={toneOfCondition(type, status)} text={status} />
              </td>
              <td>
                <Age time={lastTransitionTime} />
              </td>
              <td>
                {reason}
                {message ? <p class="detail">{message}</p> : null}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </Card>
  )
}

/** Custom resources may have anything there. */
function conditionsOf(object: KubernetesObject): readonly Condition[] {
  const { status } = object as { readonly status?: { readonly conditions?: unknown } }
  const { conditions } = status ?? {}
  if (!Array.isArray(conditions)) return []
  return conditions.filter((each): each is Condition => {
    return typeof each === 'object' && each !== null && 'type' in each && typeof each.type === 'string'
  })
}
