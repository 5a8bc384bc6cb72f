/** The flags of all commands: which cluster, as which user, and how requests are logged. */
import type { FlagValues } from '#/base/flags.ts'
import { boolFlag, durationFlag, enumFlag, intFlag, stringArrayFlag, stringFlag } from './flag-types.ts'

export const globalFlags = {
  'as': stringFlag('Username to impersonate. It may be a user or a service account in a namespace.'),
  'as-group': stringArrayFlag('Group to impersonate; may be repeated.'),
  'as-uid': stringFlag('UID to impersonate.'),
  'as-user-extra': stringArrayFlag('Extra field of the user to impersonate, KEY=VALUE; may be repeated.'),
  'cache-dir': stringFlag('Folder of the discovery and OpenAPI cache.', {
    shownDefault: `'$HOME/.kube/cache'`,
  }),
  'certificate-authority': stringFlag("File with the CA certificates of the server's certificate."),
  'client-certificate': stringFlag('File with a client certificate.'),
  'client-key': stringFlag('File with the key of the client certificate.'),
  'cluster': stringFlag('Name of the cluster in the kubeconfig.'),
  'context': stringFlag('Name of the context in the kubeconfig.'),
  'disable-compression': boolFlag('Request uncompressed responses.'),
  'insecure-skip-tls-verify': boolFlag(
    'Accept any certificate of the server. This makes the connection insecure.',
  ),
  'kubeconfig': stringFlag('Path of the kubeconfig file.'),
  'kuberc': stringFlag('Path of the kuberc file with preferences. KUBECTL_KUBERC=false ignores preferences.'),
  'log-flush-frequency': durationFlag('Accepted for compatibility: the log is not buffered.', {
    shownDefault: '5s',
  }),
  'match-server-version': boolFlag('Fail if the server has another version than this client.'),
  'namespace': stringFlag('Namespace of the request.', { shorthand: 'n' }),
  'password': stringFlag('Password for basic authentication.'),
  'profile': enumFlag(['none'], {
    help: 'Accepted for compatibility: none. Node has profiles of its own, such as node --cpu-prof.',
    shownDefault: `'none'`,
  }),
  'profile-output': stringFlag('Accepted for compatibility.', { shownDefault: `'profile.pprof'` }),
  'request-timeout': stringFlag(
    'Timeout of a single request with its unit (1s, 2m, 3h). 0 means no timeout.',
    { shownDefault: `'0'` },
  ),
  'server': stringFlag('Address and port of the API server.', { shorthand: 's' }),
  'tls-server-name': stringFlag("Name in the server's certificate, if it is not the host of the address."),
  'token': stringFlag('Bearer token.'),
  'user': stringFlag('Name of the user in the kubeconfig.'),
  'username': stringFlag('Username for basic authentication.'),
  'v': intFlag('Log level: 6 shows requests, 7 also their headers, 8 also their bodies.', { shorthand: 'v' }),
  'vmodule': stringFlag('Accepted for compatibility: the log has no modules.', { shownDefault: '' }),
  'warnings-as-errors': boolFlag('Exit with an error if the server has returned warnings.'),
}

export type GlobalFlags = FlagValues<typeof globalFlags>
