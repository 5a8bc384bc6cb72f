/** Who this server is to a webhook: the user of a kubeconfig file that has the webhook's name, or the end of it. */
import type { CallerCredentials, Callers } from '../plugin-context.ts'

/**
 * `web.example.com:8443` is looked for as it is, then as `*.example.com:8443` and so on; without the port too if that
 * is the usual one. Then come the user for all, and that of the current context.
 */
export function credentialsFor(
  { users, current }: Callers,
  hostAndPort: string,
): CallerCredentials | undefined {
  const bare = hostAndPort.endsWith(':443') ? hostAndPort.slice(0, -':443'.length) : undefined
  const names = [...namesFor(hostAndPort), ...(bare === undefined ? [] : namesFor(bare)), '*']
  for (const name of [...names, ...(current === undefined ? [] : [current])]) {
    const found = users.get(name)
    if (found) return found
  }
  return undefined
}

function namesFor(target: string): readonly string[] {
  const steps = target.split('.')
  return [target, ...steps.slice(1).map((_, index) => `*.${steps.slice(index + 1).join('.')}`)]
}
