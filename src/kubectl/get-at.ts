/**
 * `k8ts get`: everything that `kubectl get` does, and `--at`, which shows the objects of an earlier moment. Other
 * servers ignore the parameter, so it is sent only after the server was asked for its history.
 */
import { UsageError } from '#/base/flags.ts'
import { listWrites } from '#/client/list-writes.ts'
import { defineCommand } from './command.ts'
import { command as getCommand } from './commands/get.ts'
import { stringFlag } from './flag-types.ts'
import { getFlags } from './get/get-flags.ts'
import type { Machine } from './factory.ts'
import { runCommand } from './kubectl.ts'

export interface GetAtOptions {
  readonly machine: Machine
  /** The value of the parameter `at` for a text of the user. Undefined if it is invalid. */
  readonly parseAt: (text: string) => string | undefined
  /** The forms that `parseAt` accepts, for messages. */
  readonly atForms: string
}

/** Resolves to the exit code. */
export function runGetAt(words: readonly string[], options: GetAtOptions): Promise<number> {
  const command = getAtCommand(options)
  return runCommand({ command, aliases: [], path: ['k8ts', 'get'], rest: words }, options.machine)
}

function getAtCommand({ parseAt, atForms }: GetAtOptions): typeof getCommand {
  return defineCommand({
    ...getCommand,
    description: `${getCommand.description}

As kubectl get. With --at the objects are shown as they were at an earlier moment: ${atForms}.`,
    examples: `${getCommand.examples}

  # The pods of ten minutes ago, and a deleted deployment as of a revision of k8ts history
  k8ts get pods --at 10m
  k8ts get deployment web --at 1042 -o yaml`.replaceAll('  kubectl get', '  k8ts get'),
    flags: { ...getFlags, at: stringFlag('Moment of the past: revision, age, HH:MM or RFC 3339 time.') },
    async run(invocation) {
      const { flags, factory } = invocation
      const { at: text } = flags
      if (text === undefined) return getCommand.run?.(invocation)
      if (flags.watch || flags['watch-only']) throw new UsageError('--at cannot be combined with --watch')
      const { subresource = 'status' } = flags
      if (subresource !== 'status')
        throw new UsageError(`--at cannot be combined with --subresource=${subresource}`)
      if (flags.raw !== undefined) throw new UsageError('--at cannot be combined with --raw')
      const at = parseAt(text)
      if (at === undefined) throw new UsageError(`--at ${text}: must be ${atForms}`)
      const { writes } = await listWrites(await factory.client(), { limit: 1 })
      await writes.return()
      factory.setReadParameters({ at })
      return getCommand.run?.(invocation)
    },
  })
}
