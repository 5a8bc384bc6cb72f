/**
 * Rules of the built-in signers.
 * https://kubernetes.io/docs/reference/access-authn-authz/certificate-signing-requests/#kubernetes-signers
 */
import type { CertificateRequest, NameType } from './certificate-request.ts'

export const apiServerClientSigner = 'kubernetes.io/kube-apiserver-client'
export const kubeletClientSigner = 'kubernetes.io/kube-apiserver-client-kubelet'
export const kubeletServingSigner = 'kubernetes.io/kubelet-serving'

/** The reason why the signer rejects a request; undefined if it accepts it. */
type RequestValidator = (request: CertificateRequest, usages: readonly string[]) => string | undefined

const validators: ReadonlyMap<string, RequestValidator> = new Map<string, RequestValidator>([
  [apiServerClientSigner, (_request, usages) => validateClientUsages(usages)],
  [kubeletClientSigner, validateKubeletClientRequest],
  [kubeletServingSigner, validateKubeletServingRequest],
  ['kubernetes.io/legacy-unknown', () => undefined],
])

export function validatorForSigner(name: string): RequestValidator | undefined {
  return validators.get(name)
}

/** Client certificate with which a kubelet authenticates to the API server. */
export function validateKubeletClientRequest(
  request: CertificateRequest,
  usages: readonly string[],
): string | undefined {
  return (
    validateOrganization(request) ??
    validateNames(request, ['dns', 'email', 'ip', 'uri']) ??
    validateCommonName(request) ??
    validateUsages(usages, 'client auth')
  )
}

/** Serving certificate of a kubelet. */
export function validateKubeletServingRequest(
  request: CertificateRequest,
  usages: readonly string[],
): string | undefined {
  const { dns, ip } = request.names
  const isNameless = dns.length === 0 && ip.length === 0
  return (
    validateOrganization(request) ??
    (isNameless ? 'DNS or IP subjectAltName is required' : undefined) ??
    validateNames(request, ['email', 'uri']) ??
    validateUsages(usages, 'server auth') ??
    validateCommonName(request)
  )
}

/** Client certificate with which the service proxy of a node authenticates to the API server. */
export function validateProxyClientRequest(
  request: CertificateRequest,
  usages: readonly string[],
): string | undefined {
  const { commonName, organizations } = request
  return (
    (commonName === 'system:kube-proxy' ? undefined : 'subject common name is not system:kube-proxy') ??
    (organizations.length === 0 ? undefined : 'subject organizations are not allowed') ??
    validateNames(request, ['dns', 'email', 'ip', 'uri']) ??
    validateUsages(usages, 'client auth')
  )
}

function validateOrganization({ organizations }: CertificateRequest): string | undefined {
  const isNodes = organizations.length === 1 && organizations[0] === 'system:nodes'
  return isNodes ? undefined : 'subject organization is not system:nodes'
}

function validateCommonName({ commonName }: CertificateRequest): string | undefined {
  const isNode = commonName.startsWith('system:node:')
  return isNode ? undefined : 'subject common name does not begin with system:node:'
}

const nameWords: Readonly<Record<NameType, string>> = { dns: 'DNS', email: 'Email', ip: 'IP', uri: 'URI' }

function validateNames({ names }: CertificateRequest, unwanted: readonly NameType[]): string | undefined {
  const found = unwanted.find(type => names[type].length > 0)
  return found && `${nameWords[found]} subjectAltNames are not allowed`
}

/** `key encipherment` is optional: not every key type supports it. */
function validateUsages(usages: readonly string[], purpose: string): string | undefined {
  const required = [purpose, 'digital signature']
  const whole = [...required, 'key encipherment'].sort()
  const isMatch = [required, whole].some(wanted => {
    return wanted.length === usages.length && wanted.every(usage => usages.includes(usage))
  })
  return isMatch ? undefined : `usages did not match [${whole.join(' ')}]`
}

const clientUsages = ['digital signature', 'key encipherment', 'client auth']

function validateClientUsages(usages: readonly string[]): string | undefined {
  const wrong = usages.find(usage => !clientUsages.includes(usage))
  if (wrong !== undefined) return `invalid usage for client certificate: ${wrong}`
  if (usages.includes('client auth')) return undefined
  return 'missing required usage for client certificate: client auth'
}
