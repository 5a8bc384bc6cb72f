import { isObject, type JsonObject } from '#/api/text/json-object.ts'
import { parseJson } from '#/api/text/json.ts'
import { readAll } from '#/base/read-all.ts'
import { clientGitVersion } from '../client-version.ts'
import { defineCommand } from '../command.ts'
import { boolFlag, stringFlag } from '../flag-types.ts'
import type { Factory } from '../factory.ts'

/** This program as a client of Kubernetes, in the form of the server's `/version`. */
const clientVersion = {
  major: '1',
  minor: '36',
  gitVersion: clientGitVersion,
  gitCommit: '',
  gitTreeState: '',
  buildDate: '1970-01-01T00:00:00Z',
  goVersion: 'node',
  compiler: 'v8',
  platform: 'linux/amd64',
}

/** The version of kustomize whose behavior `kubectl kustomize` has. */
const kustomizeVersion = 'v5.8.1'

const responseBytesMax = 1_000_000

export const command = defineCommand({
  usage: 'version [flags]',
  description: 'Shows the versions of this program and of the server of the current context.',
  examples: `  # The versions of client and server
  kubectl version

  # Only the version of the client, without a request to the server
  kubectl version --client`,
  flags: {
    client: boolFlag('Only show the version of the client.'),
    output: stringFlag('Output format: yaml or json.', { shorthand: 'o' }),
  },
  async run({ args, flags, factory, streams }) {
    const { client: isClientOnly, output = '' } = flags
    if (args.length > 0 && !isClientOnly) throw new Error(`extra arguments: [${args.join(' ')}]`)
    if (!['', 'yaml', 'json'].includes(output)) throw new Error(`--output must be 'yaml' or 'json'`)
    const [server, error] = isClientOnly ? [undefined, undefined] : await serverVersion(factory)
    const versions: JsonObject = { clientVersion, kustomizeVersion, ...(server && { serverVersion: server }) }
    streams.write(await describe(versions, output))
    const warning =
      server === undefined ? undefined : skewWarning(clientVersion.gitVersion, gitVersionOf(server))
    if (warning !== undefined) {
      if (factory.globalFlags['warnings-as-errors']) throw new Error(warning)
      streams.stderr.write(`Warning: ${warning}\n`)
    }
    if (error !== undefined) throw error
  },
})

/** An error is reported after the version of the client. */
async function serverVersion(factory: Factory): Promise<readonly [JsonObject | undefined, unknown]> {
  try {
    const client = await factory.client()
    const response = await client.raw({ method: 'GET', path: '/version' })
    const version = parseJson(await readAll(response.bytes(), responseBytesMax))
    if (!isObject(version)) throw new Error('the version of the server is not an object')
    return [version, undefined]
  } catch (error) {
    return [undefined, error]
  }
}

async function describe(versions: JsonObject, output: string): Promise<string> {
  if (output === 'json') return `${JSON.stringify(versions, undefined, 2)}\n`
  if (output === 'yaml') {
    const { stringifyYaml } = await import('#/api/text/stringify-yaml.ts')
    return `${stringifyYaml(versions)}\n`
  }
  const { serverVersion: server } = versions
  return [
    `Client Version: ${clientVersion.gitVersion}\n`,
    `Kustomize Version: ${kustomizeVersion}\n`,
    isObject(server) ? `Server Version: ${gitVersionOf(server)}\n` : '',
  ].join('')
}

function gitVersionOf({ gitVersion }: JsonObject): string {
  return typeof gitVersion === 'string' ? gitVersion : ''
}

/** Client and server may differ by one minor version. Throws Error for a version in another format. */
export function skewWarning(client: string, server: string): string | undefined {
  const [clientMajor, clientMinor] = majorAndMinor(client)
  const [serverMajor, serverMinor] = majorAndMinor(server)
  if (clientMajor === serverMajor && Math.abs(clientMinor - serverMinor) <= 1) return undefined
  const versions = `client (${clientMajor}.${clientMinor}) and server (${serverMajor}.${serverMinor})`
  return `version difference between ${versions} exceeds the supported minor version skew of +/-1`
}

function majorAndMinor(version: string): readonly [major: number, minor: number] {
  const match = /^v?(\d+)\.(\d+)\.\d+/.exec(version)
  if (match === null) throw new Error(`server version error: could not parse "${version}" as version`)
  return [Number(match[1]), Number(match[2])]
}
