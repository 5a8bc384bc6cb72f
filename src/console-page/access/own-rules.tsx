import type { JSX } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { Notice } from '../components/notice.tsx'
import { errorText } from '../data/api-error.ts'
import { sendJson } from '../data/api-request.ts'
import { Card } from '../object/fields.tsx'

/** SelfSubjectRulesReview. */
interface RulesReview {
  readonly status: {
    readonly resourceRules: readonly ResourceRule[]
    readonly incomplete: boolean
    readonly evaluationError?: string
  }
}

interface ResourceRule {
  readonly verbs: readonly string[]
  readonly apiGroups?: readonly string[]
  readonly resources?: readonly string[]
  readonly resourceNames?: readonly string[]
}

const path = '/apis/authorization.k8s.io/v1/selfsubjectrulesreviews'

/** What the user of the console may do in a namespace. */
export function OwnRules({ namespace }: { readonly namespace: string }): JSX.Element {
  const [review, setReview] = useState<RulesReview>()
  const [message, setMessage] = useState('')
  useEffect(() => {
    const ended = new AbortController()
    const body = {
      kind: 'SelfSubjectRulesReview',
      apiVersion: 'authorization.k8s.io/v1',
      spec: { namespace },
    }
    sendJson<RulesReview>(path, body, { signal: ended.signal }).then(setReview, (error: unknown) => {
      if (!ended.signal.aborted) setMessage(errorText(error))
    })
    return () => ended.abort()
  }, [namespace])
  const rules = review?.status.resourceRules ?? []
  return (
    <Card title={`What you may do in namespace ${namespace}`}>
      {message === '' ? null : <Notice tone="warn" title="The rules cannot be read" detail={message} />}
      {review?.status.incomplete ? (
        <Notice tone="warn" title="The list is incomplete" detail={review.status.evaluationError} />
      ) : null}
      <div class="table-scroll">
        <table class="table">
          <thead>
            <tr>
              <th scope="col">Resources</th>
              <th scope="col">Groups</th>
              <th scope="col">Names</th>
              <th scope="col">Verbs</th>
            </tr>
          </thead>
          <tbody>
            {rules.map(({ resources = [], apiGroups = [], resourceNames = [], verbs }, index) => (
              <tr key={index}>
                <td class="is-text">{resources.join(', ')}</td>
                <td class="is-text">{apiGroups.map(group => group || 'core').join(', ')}</td>
                <td class="is-text">{resourceNames.join(', ') || 'all'}</td>
                <td class="is-text">{verbs.join(', ')}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </Card>
  )
}
