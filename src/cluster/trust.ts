/** Whom a cluster's API server believes: the cluster's own authorities and keys, and what an administrator adds. */
import type { AuthenticationSettings } from '#/apiserver/authn.ts'
import type { ApiServerSettings } from '#/apiserver/settings.ts'
import type { ClusterCertificates } from '#/kubeadm/certificates.ts'
import type { HttpTls } from '#/platform/http.ts'
import type { HttpClientTls } from '#/platform/http-client.ts'

/** As kubeadm calls it: where pods reach the API server. */
export const serviceAccountIssuer = 'https://kubernetes.default.svc.cluster.local'

export function tlsOf(certificates: ClusterCertificates, settings: ApiServerSettings): HttpTls {
  const { frontProxyAuthority, apiServer } = certificates
  const proxies = settings.authentication.frontProxy.authorities ?? frontProxyAuthority.cert
  return { ...apiServer, clientCa: `${clientAuthorities(certificates, settings)}\n${proxies}` }
}

/** Who the API server is where it goes to kubelets, and who signs for them. */
export function kubeletTlsOf({ authority, kubeletClient }: ClusterCertificates): HttpClientTls {
  return { ca: authority.cert, ...kubeletClient }
}

/** Who may name users: the cluster's own authority, and whom the administrator trusts beside it. */
export function clientAuthorities({ authority }: ClusterCertificates, settings: ApiServerSettings): string {
  const { clientAuthorities: more } = settings.authentication
  return more === undefined ? authority.cert : `${authority.cert}\n${more}`
}

/** Nodes may join with a token unless that is turned off; the rest is what kubeadm chooses. */
export function authenticationOf(
  certificates: ClusterCertificates,
  settings: ApiServerSettings,
): AuthenticationSettings {
  const { frontProxyAuthority, serviceAccounts } = certificates
  const { clientAuthorities: _authorities, ...given } = settings.authentication
  return {
    bootstrapTokens: true,
    ...given,
    certificates: { authorities: clientAuthorities(certificates, settings) },
    frontProxy: {
      authorities: frontProxyAuthority.cert,
      allowedNames: ['front-proxy-client'],
      ...given.frontProxy,
    },
    serviceAccounts: {
      url: serviceAccountIssuer,
      signingKey: serviceAccounts.privateKey,
      ...given.serviceAccounts,
    },
  }
}
