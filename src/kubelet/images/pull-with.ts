import { messageOf } from '#/base/message-of.ts'
import { CriError, type ContainerRuntime } from '#/cri/cri.ts'
import type { PullCredential } from './pull-credentials.ts'

export interface Pulled {
  readonly id: string
  /** Absent for an anonymous pull. */
  readonly credential?: PullCredential
}

export interface PullRequest {
  readonly image: string
  readonly credentials: readonly PullCredential[]
  readonly signal: AbortSignal
}

/** Tries the credentials in order. Throws the errors of all attempts. */
export async function pullWith(
  runtime: Pick<ContainerRuntime, 'pullImage'>,
  { image, credentials, signal }: PullRequest,
): Promise<Pulled> {
  if (credentials.length === 0) return { id: await runtime.pullImage(image, undefined, { signal }) }
  const errors: unknown[] = []
  for (const credential of credentials) {
    const { username, password } = credential
    try {
      return { id: await runtime.pullImage(image, { username, password }, { signal }), credential }
    } catch (error) {
      signal.throwIfAborted()
      errors.push(error)
    }
  }
  if (errors.length === 1) throw errors[0]
  const messages = new Set(errors.map(error => messageOf(error)))
  const text = [...messages].join(', ')
  const cause = new AggregateError(errors)
  throw new CriError('failed', messages.size === 1 ? text : `[${text}]`, { cause })
}
