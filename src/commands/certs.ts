/** `k8ts certs`: shows when the certificates of a cluster expire, and renews them. */
import { resolve } from 'node:path'
import { join } from 'node:path'
import { humanDuration } from '#/api/text/duration.ts'
import type { JsonObject } from '#/api/text/json-object.ts'
import { formatTime } from '#/api/text/time.ts'
import { UsageError, valueFlag } from '#/base/flags.ts'
import { generateCertificateKey } from '#/kubeadm/certificate-key.ts'
import { formatTable } from '#/kubeadm/format-table.ts'
import {
  managedCertificates,
  readCertificateExpirations,
  renewCertificate,
  type CertificateExpiration,
  type CertificateExpirations,
  type ManagedFolders,
} from '#/kubeadm/managed-certificates.ts'
import { outputFlag, printObject } from '#/kubeadm/print-object.ts'
import { nodeCrypto } from '#/platform/node.ts'
import { dataFolder, dataFolderFlag } from './data-folder.ts'
import { commandWithSubcommands, subcommand, type SubcommandInvocation } from './subcommands.ts'

const folderFlags = {
  'cert-dir': valueFlag('DIR', 'folder of the certificates (default: pki in the data directory)', {
    parse: text => resolve(text),
    what: 'a folder',
  }),
  ...dataFolderFlag,
}
const checkFlags = { output: outputFlag, ...folderFlags }

export const command = commandWithSubcommands({
  name: 'certs',
  summary: 'Shows when the certificates of a cluster expire, and renews them.',
  subcommands: {
    'check-expiration': subcommand({
      summary: 'Check certificates expiration for a cluster',
      flags: checkFlags,
      maxArguments: 0,
      run: checkExpiration,
    }),
    'renew': subcommand({
      usage: 'all|NAME',
      summary: 'Renew one certificate, or all, for a year, with the names that they have',
      flags: folderFlags,
      maxArguments: 1,
      run: renew,
    }),
    'certificate-key': subcommand({
      summary: 'Print a random key for the encryption of uploaded certificates',
      flags: {},
      maxArguments: 0,
      async run({ platform, terminal }) {
        terminal.write(`${generateCertificateKey(platform.random)}\n`)
        return 0
      },
    }),
  },
  examples: `  k8ts certs check-expiration
  k8ts certs renew all
  k8ts certs renew apiserver --cert-dir /etc/kubernetes/pki
`,
})

function foldersOf(flags: { readonly 'cert-dir'?: string; readonly 'data-dir'?: string }): ManagedFolders {
  const folder = dataFolder(flags)
  return { certificates: flags['cert-dir'] ?? join(folder, 'pki'), kubeconfigs: folder }
}

async function checkExpiration(invocation: SubcommandInvocation<typeof checkFlags>): Promise<number> {
  const { platform, terminal, flags } = invocation
  const expirations = await readCertificateExpirations(platform.files, foldersOf(flags))
  const nowMs = platform.clock.now()
  const { output = 'text' } = flags
  if (output === 'text') {
    terminal.write(formatExpirations(expirations, nowMs))
    return 0
  }
  const list = (all: readonly CertificateExpiration[]): JsonObject[] =>
    all.map(each => outputFields(each, nowMs))
  const fields = {
    certificates: list(expirations.certificates),
    certificateAuthorities: list(expirations.authorities),
  }
  terminal.write(printObject('CertificateExpirationInfo', fields, output))
  return 0
}

function formatExpirations({ certificates, authorities }: CertificateExpirations, nowMs: number): string {
  const row = ({
    name,
    expiresMs,
    caName,
    isExternallyManaged,
  }: CertificateExpiration): readonly string[] => {
    const empty = caName === undefined ? ['', ''] : ['', '', '']
    if (expiresMs === undefined) return [`!MISSING! ${name}`, ...empty, '']
    return [
      name,
      formatDay(expiresMs),
      humanDuration(expiresMs - nowMs),
      ...(caName === undefined ? [] : [caName]),
      (isExternallyManaged ? 'yes' : 'no').padEnd(8),
    ]
  }
  const columns = ['EXPIRES', 'RESIDUAL TIME']
  const first = ['CERTIFICATE', ...columns, 'CERTIFICATE AUTHORITY', 'EXTERNALLY MANAGED']
  const second = ['CERTIFICATE AUTHORITY', ...columns, 'EXTERNALLY MANAGED']
  return `${formatTable([first, ...certificates.map(row)])}\n${formatTable([second, ...authorities.map(row)])}`
}

/** `Nov 18, 2027 20:36 UTC` */
function formatDay(ms: number): string {
  const text = formatTime(ms)
  const month = months[Number(text.slice(5, 7)) - 1]
  return `${month} ${text.slice(8, 10)}, ${text.slice(0, 4)} ${text.slice(11, 16)} UTC`
}

const months = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec']

function outputFields(each: CertificateExpiration, nowMs: number): JsonObject {
  const { name, expiresMs, caName, isExternallyManaged } = each
  const isMissing = expiresMs === undefined
  return {
    name,
    expirationDate: isMissing ? null : formatTime(expiresMs),
    residualTime: isMissing ? 0 : Math.trunc((expiresMs - nowMs) / 1_000),
    externallyManaged: !isMissing && isExternallyManaged,
    ...(!isMissing && caName !== undefined && { caName }),
    missing: isMissing,
  }
}

async function renew(invocation: SubcommandInvocation<typeof folderFlags>): Promise<number> {
  const { platform, terminal, words, flags } = invocation
  const [name] = words
  const folders = foldersOf(flags)
  const chosen = managedCertificates.filter(each => name === 'all' || each.name === name)
  if (chosen.length === 0) {
    const names = managedCertificates.map(each => each.name)
    throw new UsageError(`usage: k8ts certs renew all|NAME, where NAME is one of ${names.join(', ')}`)
  }
  const { certificates } = await readCertificateExpirations(platform.files, folders)
  const listed = new Set(certificates.map(each => each.name))
  for (const certificate of chosen.filter(each => name !== 'all' || listed.has(each.name))) {
    const { longName, ca } = certificate
    const result = await renewCertificate({ platform, crypto: nodeCrypto(), folders, certificate })
    const lines = {
      renewed: `${longName} renewed`,
      missing: `MISSING! ${longName}`,
      external: `Detected external ${ca.file}, ${longName} can't be renewed`,
    }
    terminal.write(`${lines[result]}\n`)
  }
  terminal.write(
    '\nDone renewing certificates. Restart the components of the control plane, so that they use them.\n',
  )
  return 0
}
