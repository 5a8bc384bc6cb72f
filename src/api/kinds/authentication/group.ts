/** Protobuf field numbers of the group. */
/** In the notation of `protobuf/field-numbers.ts`. */
export const authenticationFieldNumbers = `
BoundObjectReference: kind apiVersion name uid
SelfSubjectReview: metadata status
SelfSubjectReviewStatus: userInfo
TokenRequest: metadata spec! status
TokenRequestSpec: audiences! 3:boundObjectRef? expirationSeconds?
TokenRequestStatus: token! expirationTimestamp
TokenReview: metadata spec status
TokenReviewSpec: token audiences
TokenReviewStatus: authenticated user error audiences
UserInfo: username uid groups extra
`
