import { readAll } from '#/base/read-all.ts'
import type { Machine } from '../factory.ts'

export interface DownloadOptions {
  readonly url: string
  readonly bytesMax: number
}

/** Server errors are retried this often, after one second each. */
const attemptsMax = 3

const redirectsMax = 10

/** Reads a manifest from a URL. No credentials are sent. */
export async function downloadManifest(
  machine: Machine,
  { url, bytesMax }: DownloadOptions,
): Promise<Uint8Array> {
  for (let attempt = 1; ; attempt++) {
    const result = await fetchOnce(machine, { url, bytesMax })
    if (result instanceof Uint8Array) return result
    const text = `unable to read URL ${JSON.stringify(url)}, server reported ${result}, status code=${result}`
    if (result < 500 || attempt === attemptsMax) throw new Error(text)
    await machine.platform.clock.sleep(1_000)
  }
}

/** The content, or the status of an error. */
async function fetchOnce(machine: Machine, { url, bytesMax }: DownloadOptions): Promise<Uint8Array | number> {
  let target = new URL(url)
  for (let redirects = 0; redirects <= redirectsMax; redirects++) {
    await using client = machine.connectHttp({ origin: target.origin })
    const response = await client.request({ method: 'GET', path: target.pathname + target.search })
    const { location } = response.headers
    if (response.status >= 300 && response.status < 400 && location !== undefined) {
      response.discard()
      target = new URL(location, target)
      if (!/^https?:$/.test(target.protocol))
        throw new Error(`cannot follow the redirect of ${url} to ${location}`)
      continue
    }
    if (response.status === 200) return await readAll(response.body, bytesMax)
    response.discard()
    return response.status
  }
  throw new Error(`Get ${JSON.stringify(url)}: stopped after ${redirectsMax} redirects`)
}
