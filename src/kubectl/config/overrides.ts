import { resolve } from 'node:path'
import type { ClusterEntry, KubeconfigOverrides, UserEntry } from '#/kubeconfig/kubeconfig.ts'
import type { GlobalFlags } from '../global-flags.ts'

/** The overrides of the kubeconfig that the global flags contain. */
export function overridesOf(flags: GlobalFlags, workingFolder: string): KubeconfigOverrides {
  const cluster = clusterOverrides(flags, workingFolder)
  const user = userOverrides(flags, workingFolder)
  return {
    ...(flags.context && { context: flags.context }),
    ...(flags.namespace && { namespace: flags.namespace }),
    ...(flags.cluster && { clusterName: flags.cluster }),
    ...(flags.user && { userName: flags.user }),
    ...(Object.keys(cluster).length > 0 && { cluster }),
    ...(Object.keys(user).length > 0 && { user }),
  }
}

function clusterOverrides(flags: GlobalFlags, workingFolder: string): ClusterEntry {
  const { server, 'tls-server-name': serverName, 'certificate-authority': ca } = flags
  const insecure = flags['insecure-skip-tls-verify']
  return {
    ...(server && { server }),
    ...(serverName && { 'tls-server-name': serverName }),
    ...(ca && { 'certificate-authority': resolve(workingFolder, ca) }),
    ...(insecure && { 'insecure-skip-tls-verify': true }),
    ...(flags['disable-compression'] && { 'disable-compression': true }),
  }
}

function userOverrides(flags: GlobalFlags, workingFolder: string): UserEntry {
  const { token, username, password, as: impersonated } = flags
  const { 'client-certificate': certificate, 'client-key': key } = flags
  const extra = flags['as-user-extra'] ?? []
  return {
    ...(certificate && { 'client-certificate': resolve(workingFolder, certificate) }),
    ...(key && { 'client-key': resolve(workingFolder, key) }),
    ...(token && { token }),
    ...(username && { username }),
    ...(password && { password }),
    ...(impersonated && { as: impersonated }),
    ...(flags['as-uid'] && { 'as-uid': flags['as-uid'] }),
    ...(flags['as-group'] && { 'as-groups': flags['as-group'] }),
    ...(extra.length > 0 && { 'as-user-extra': extraOf(extra) }),
  }
}

function extraOf(given: readonly string[]): Readonly<Record<string, readonly string[]>> {
  const values = new Map<string, string[]>()
  for (const each of given) {
    const [, key = each, value = ''] = /^([^=]*)=([^]*)$/.exec(each) ?? []
    values.getOrInsertComputed(key, () => []).push(value)
  }
  return Object.fromEntries(values)
}
