/** The version of Kubernetes whose kubectl this is. */
export const clientGitVersion = 'v1.36.4+k8ts'
