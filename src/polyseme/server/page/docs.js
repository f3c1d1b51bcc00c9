// The API, by Swagger UI; requests go to where this page comes from, also behind a proxy.

const specification = await (await fetch("openapi.json")).json();
specification.servers = [{ url: new URL(".", location.href).pathname.replace(/\/$/, "") || "/" }];
globalThis.SwaggerUIBundle({
  spec: specification,
  dom_id: "#swagger-ui",
  defaultModelsExpandDepth: 0,
  validatorUrl: null,
});
