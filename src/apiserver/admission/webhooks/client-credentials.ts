/**
 * Credentials for calls to a webhook: the kubeconfig user named after the webhook's host, or a wildcard
 * match.
 */
import type { Credentials } from '#/kubeconfig/credentials.ts'
import type { WebhookCredentials } from '#/kubeconfig/webhook-kubeconfig.ts'

/**
 * Looks up `web.example.com:8443`, then `*.example.com:8443` and so on; for port 443 also without the port.
 * Then the user `*`, then the user of the current context.
 */
export function credentialsFor(
  { users, current }: WebhookCredentials,
  hostAndPort: string,
): Credentials | undefined {
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
