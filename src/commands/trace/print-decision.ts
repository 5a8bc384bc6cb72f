import { isApiError } from '#/api/errors.ts'
import { escapeControlCharacters } from '#/base/escape-control-characters.ts'
import type { Client } from '#/client/client.ts'
import type { Terminal } from '#/command-line/command.ts'
import type { PodDecision } from '#/scheduler/scheduler.ts'
import { formatDecision } from './format-decision.ts'

export interface DecisionRequest {
  readonly client: Client
  readonly namespace: string
  readonly name: string
  readonly terminal: Terminal
  readonly output: string | undefined
}

/** Prints the last scheduling decision for a pod. Returns the exit code. */
export async function printDecision({
  client,
  namespace,
  name,
  terminal,
  output,
}: DecisionRequest): Promise<number> {
  const path = `/debug/scheduling/${encodeURIComponent(namespace)}/${encodeURIComponent(name)}`
  try {
    const response = await client.raw({ method: 'GET', path })
    const decision = (await response.value()) as PodDecision
    const text = output === 'json' ? JSON.stringify(decision, null, 2) : formatDecision(decision).trimEnd()
    terminal.write(`${text.split('\n').map(escapeControlCharacters).join('\n')}\n`)
    return 0
  } catch (error) {
    if (!isApiError(error, 'NotFound')) throw error
    const pod = escapeControlCharacters(`${namespace}/${name}`)
    terminal.writeError(`no scheduling decision is kept for pod ${pod}\n`)
    return 1
  }
}
